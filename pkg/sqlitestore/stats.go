package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Stats say what a store holds.
type Stats struct {
	Sessions, Objects, Refs, Events int64 // rows
	FileBytes                       int64 // of the database
	LogBytes                        int64 // of the write-ahead log beside it
	FreeBytes                       int64 // of the database, free for reuse
}

// Stats counts the rows, which reads much of the file.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	if err := s.ready(ctx); err != nil {
		return Stats{}, err
	}
	var st Stats
	err := s.readers.snapshot(ctx, func(c *conn) error {
		for _, q := range []struct {
			into  *int64
			query string
		}{
			{&st.Sessions, "SELECT count(*) FROM sessions"},
			{&st.Objects, "SELECT count(*) FROM objects"},
			{&st.Refs, "SELECT count(*) FROM refs"},
			{&st.Events, "SELECT count(*) FROM events"},
			{&st.FreeBytes, "SELECT freelist_count*page_size FROM pragma_freelist_count, pragma_page_size"},
		} {
			n, _, err := c.number(q.query)
			if err != nil {
				return err
			}
			*q.into = n
		}
		return nil
	})
	if err != nil {
		return Stats{}, fmt.Errorf("reading the store's size: %w", err)
	}
	if st.FileBytes, err = size(s.path); err != nil {
		return Stats{}, err
	}
	st.LogBytes, err = size(s.path + "-wal")
	return st, err
}

func size(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the store's size: %w", err)
	}
	return info.Size(), nil
}

// ErrDamaged reports a file that SQLite finds damaged.
var ErrDamaged = errors.New("the store's file is damaged")

// IntegrityCheck has SQLite check the whole file and its indexes. The error is [ErrDamaged] and lists up to 100 findings. It does
// not verify objects against their hashes; reading them does.
func (s *Store) IntegrityCheck(ctx context.Context) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	var found []string
	err := s.readers.do(ctx, func(c *conn) error {
		return c.interruptible(ctx, "PRAGMA integrity_check", func(row []driver.Value) error {
			line, err := asText(row[0])
			if err == nil && line != "ok" {
				found = append(found, line)
			}
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("checking the store's file: %w", err)
	}
	if len(found) > 0 {
		return fmt.Errorf("%w: %s", ErrDamaged, strings.Join(found, "; "))
	}
	return nil
}
