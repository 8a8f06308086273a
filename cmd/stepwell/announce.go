package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// instanceHeader names the process that answers, so that a stale announcement is not taken for another server that has got
// the same port since.
const instanceHeader = "Stepwell-Instance"

// probeTimeout bounds the question whether an announced server lives.
const probeTimeout = time.Second

// An announcement tells other commands on this machine that a server serves a store. It lies beside the store.
type announcement struct {
	URL      string `json:"url"`
	PID      int    `json:"pid"`
	Instance string `json:"instance"`
}

func announcementPath(store string) string { return store + ".server" }

// write replaces the announcement of the store in one piece.
func (n announcement) write(store string) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(store), ".server-*")
	if err != nil {
		return fmt.Errorf("announcing the server: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), announcementPath(store))
	}
	if err != nil {
		return fmt.Errorf("announcing the server: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// withdraw removes the announcement unless another server has replaced it.
func (n announcement) withdraw(store string) error {
	now, ok, err := readAnnouncement(store)
	if err != nil || !ok || now != n {
		return err
	}
	return os.Remove(announcementPath(store))
}

func readAnnouncement(store string) (announcement, bool, error) {
	data, err := os.ReadFile(announcementPath(store))
	if errors.Is(err, fs.ErrNotExist) {
		return announcement{}, false, nil
	}
	if err != nil {
		return announcement{}, false, fmt.Errorf("looking for a server: %w", err)
	}
	var n announcement
	if err := json.Unmarshal(data, &n); err != nil || !strings.HasPrefix(n.URL, "http") {
		return announcement{}, false, nil //nolint:nilerr // of another version: as good as none
	}
	return n, true, nil
}

// findServer returns the server that is announced for the store and answers.
func findServer(ctx context.Context, store string) (announcement, bool, error) {
	if real, err := filepath.EvalSymlinks(store); err == nil {
		store = real
	}
	n, ok, err := readAnnouncement(store)
	if err != nil || !ok {
		return n, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, n.URL+"/healthz", nil)
	if err != nil {
		return n, false, nil // of another version: as good as none
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return n, false, nil // it was killed and could not withdraw
	}
	defer resp.Body.Close() //nolint:errcheck // only the header is wanted
	return n, resp.StatusCode == http.StatusOK && resp.Header.Get(instanceHeader) == n.Instance, nil
}
