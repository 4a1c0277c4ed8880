// The search of the site runs in a Worker, which browsers refuse to pages that are opened as files. There a hidden
// frame takes the place of the Worker: its script listens and answers as it would, in the thread of the page.
(() => {
  if (location.protocol !== "file:") return;

  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
      this.tell = (data) => inside.dispatchEvent(new MessageEvent("message", { data }));
      this.loaded = new Promise((resolve, reject) => {
        const script = frame.contentDocument.createElement("script");
        script.src = new URL(url, document.baseURI);
        script.onload = resolve;
        script.onerror = reject;
        frame.contentDocument.head.append(script);
      });
      this.end = () => frame.remove();
    }

    postMessage(data) {
      this.loaded.then(() => this.tell(data));
    }

    terminate() {
      this.end();
    }
  };
})();
