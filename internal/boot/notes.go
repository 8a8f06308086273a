package boot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// notesOf returns the file of a configuration's notes.
func notesOf(c Config) string {
	if c.Cloud != nil {
		return NotesPath(filepath.Join(filepath.Dir(DefaultStore), c.Cloud.Table))
	}
	return NotesPath(c.Store)
}

// NotesPath returns the file beside the store to which the tool note appends. Its lines count how often the tool ran.
func NotesPath(store string) string { return store + "-notes.txt" }

// A notebook appends notes to a file, one line each, durable before it says so.
type notebook struct {
	path string
	now  func() time.Time
	mu   sync.Mutex
}

func (n *notebook) write(_ context.Context, text string) (err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(n.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(n.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	if _, err := fmt.Fprintf(f, "%s %q\n", n.now().UTC().Format(time.RFC3339), text); err != nil {
		return err
	}
	return f.Sync()
}
