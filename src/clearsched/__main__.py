"""`python -m clearsched`: the command line."""

from clearsched.cli import main

if __name__ == "__main__":
    main()
