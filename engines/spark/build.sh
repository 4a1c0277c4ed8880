#!/usr/bin/env bash
# Builds build/clearsched-spark.jar with javac alone (Java 17), against the jars of the pyspark that `python` imports,
# or those of SPARK_HOME. The jar knows the minor version of Spark that it was built for, and refuses others.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

stop() {
  echo "clearsched-spark: $1" >&2
  exit 2
}

command -v javac > /dev/null || stop "no Java compiler 'javac': install a JDK 17 or newer (Debian: openjdk-17-jdk-headless)"
command -v jar > /dev/null || stop "no 'jar' beside javac: install a JDK, not a JRE"
if [ -n "${SPARK_HOME:-}" ]; then
  jars=$SPARK_HOME/jars
else
  jars=$(python -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))' 2> /dev/null)/jars \
    || stop "no pyspark: pip install 'clearsched[spark]', or set SPARK_HOME"
fi
core=$(find "$jars" -maxdepth 1 -name 'spark-core_*.jar' -print -quit 2> /dev/null) || true
[ -n "$core" ] || stop "$jars: no spark-core_*.jar there: SPARK_HOME must be the folder of a Spark 4"
version=$(basename "$core" .jar | sed 's/^spark-core_[0-9.]*-//')
minor=$(echo "$version" | grep -oE '^[0-9]+\.[0-9]+') || stop "$core: its name tells no version"
case $minor in 4.*) ;; *) stop "Spark $version: the jar is written for Spark 4" ;; esac

out=${1:-$here/build/clearsched-spark.jar}
mkdir -p "$(dirname "$out")"
work=$(mktemp -d "$(dirname "$out")/.build.XXXXXX")
trap 'rm -rf "$work"' EXIT
# "-path": pyspark's jars name others that it does not bring; "-classfile": Scala's annotations have no Java classes.
find "$here/src" -name '*.java' -print0 | sort -z \
  | xargs -0 javac --release 17 -encoding UTF-8 -Xlint:all,-processing,-classfile,-path -Werror -cp "$jars/*" -d "$work"
cp -r "$here/resources/." "$work"
printf 'spark=%s\n' "$minor" > "$work/org/clearsched/spark/built-for.properties"
jar --create --file "$work/new.jar" --date "2000-01-01T00:00:00Z" -C "$work" org -C "$work" META-INF
mv "$work/new.jar" "$out"
echo "$out (Spark $minor)"
