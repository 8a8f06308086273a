package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gofrs/flock"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// MemoryRows keep rows in memory only: a restart loses them. The zero value is ready.
type MemoryRows struct {
	mu   sync.Mutex
	rows []Row
}

// Load returns all rows.
func (m *MemoryRows) Load(context.Context) ([]Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.rows), nil
}

// Put adds or replaces a row.
func (m *MemoryRows) Put(_ context.Context, row Row) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = put(m.rows, row)
	return nil
}

// Remove removes a row.
func (m *MemoryRows) Remove(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = remove(m.rows, key)
	return nil
}

func put(rows []Row, row Row) []Row {
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.Key() == row.Key() }); i >= 0 {
		rows[i] = row
		return rows
	}
	return append(rows, row)
}

func remove(rows []Row, key string) []Row {
	return slices.DeleteFunc(rows, func(r Row) bool { return r.Key() == key })
}

// A line is one change of a [FileRows]. Exactly one member is set.
type line struct {
	Put    *Row   `json:"put,omitzero"`
	Remove string `json:"remove,omitzero"`
}

// FileRows keep rows in a file of JSON lines, each synced to disk before a call returns. One process at a time has it open.
type FileRows struct {
	path string
	lock *flock.Flock

	mu   sync.Mutex
	file *os.File
	rows []Row
}

// ErrOutboxBusy reports a file of rows that another process has open.
var ErrOutboxBusy = errors.New("another process has the outbox open")

// OpenFileRows opens or creates the file. A last line that was cut short by a crash was never acknowledged and is dropped;
// any other line that cannot be read is an error, and nothing is changed.
func OpenFileRows(path string) (*FileRows, error) {
	lock := flock.New(path + ".lock")
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the outbox: %w", err)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrOutboxBusy, path)
	}
	f := &FileRows{path: path, lock: lock}
	if err := f.open(); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return f, nil
}

// open reads the file and writes it anew without what is gone.
func (f *FileRows) open() error {
	data, err := os.ReadFile(f.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading the outbox: %w", err)
	}
	if f.rows, err = fold(data); err != nil {
		return fmt.Errorf("reading the outbox %s: %w", f.path, err)
	}
	fresh, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".*") // readable by its owner only
	if err != nil {
		return fmt.Errorf("writing the outbox: %w", err)
	}
	f.file = fresh
	for _, r := range f.rows {
		if err := f.write(line{Put: &r}); err != nil {
			return errors.Join(err, fresh.Close(), os.Remove(fresh.Name()))
		}
	}
	if err := errors.Join(fresh.Sync(), os.Rename(fresh.Name(), f.path), syncDir(filepath.Dir(f.path))); err != nil {
		return errors.Join(fmt.Errorf("writing the outbox: %w", err), fresh.Close())
	}
	return nil
}

func fold(data []byte) ([]Row, error) {
	var rows []Row
	in := bufio.NewReader(bytes.NewReader(data))
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return rows, nil // what has no line end was cut short
		}
		if err != nil {
			return nil, err
		}
		var l line
		if err := api.UnmarshalStrict(text, &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case l.Put != nil && l.Put.Key() != "":
			rows = put(rows, *l.Put)
		case l.Remove != "":
			rows = remove(rows, l.Remove)
		default:
			return nil, fmt.Errorf("line %d: neither puts nor removes a row", n)
		}
	}
}

// Load returns all rows.
func (f *FileRows) Load(context.Context) ([]Row, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.rows), nil
}

// Put adds or replaces a row.
func (f *FileRows) Put(_ context.Context, row Row) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.commit(line{Put: &row}); err != nil {
		return err
	}
	f.rows = put(f.rows, row)
	return nil
}

// Remove removes a row.
func (f *FileRows) Remove(_ context.Context, key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.commit(line{Remove: key}); err != nil {
		return err
	}
	f.rows = remove(f.rows, key)
	return nil
}

// Close frees the file for others.
func (f *FileRows) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.file.Close(), f.lock.Unlock())
}

// commit appends a line durably. After a failure the end of the file is unknown, so it is cut back.
func (f *FileRows) commit(l line) error {
	end, err := f.file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("writing the outbox: %w", err)
	}
	if err := f.write(l); err != nil {
		return errors.Join(err, f.file.Truncate(end))
	}
	if err := f.file.Sync(); err != nil {
		return errors.Join(fmt.Errorf("writing the outbox: %w", err), f.file.Truncate(end))
	}
	return nil
}

func (f *FileRows) write(l line) error {
	data, err := api.Marshal(l)
	if err != nil {
		return fmt.Errorf("writing the outbox: %w", err)
	}
	if _, err := f.file.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("writing the outbox: %w", err)
	}
	return nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
