import threading, time
from quire.stores import Store
if not hasattr(Store, "watch"):
    def watch(self, place, changed):
        stop = threading.Event()
        def run():
            v = -1
            while not stop.wait(0.01):
                try: n = self.version(place)
                except Exception: return
                if n != v: v = n; changed()
        threading.Thread(target=run, daemon=True).start()
        return stop.set
    Store.watch = watch
