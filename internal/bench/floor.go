package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"

	_ "modernc.org/sqlite" // the driver of the store that is measured
)

// A floor is the least that a durable step can cost: one immediate transaction that reads a ref, inserts an object of 1.5 KB, moves the
// ref, bumps the sequence and inserts an event, with the settings of the store.
type floor struct {
	db   *sql.DB
	conn *sql.Conn
	n    int
	body []byte
}

func newFloor(ctx context.Context, path string) (*floor, error) {
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(5000)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	_, err = conn.ExecContext(ctx, `
		CREATE TABLE refs (name TEXT PRIMARY KEY, oid BLOB) WITHOUT ROWID;
		CREATE TABLE objects (oid BLOB PRIMARY KEY, body BLOB);
		CREATE TABLE sessions (id INTEGER PRIMARY KEY, next INTEGER);
		CREATE TABLE events (seq INTEGER PRIMARY KEY, body BLOB);
		INSERT INTO refs VALUES ('head', x'00'); INSERT INTO sessions VALUES (1, 1);`)
	return &floor{db: db, conn: conn, body: bytes.Repeat([]byte("stepwell"), 190)}, err
}

func (f *floor) close() error { return f.db.Close() }

func (f *floor) transaction(ctx context.Context) error {
	f.n++
	oid := []byte(fmt.Sprintf("%032d", f.n))
	if _, err := f.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	var old []byte
	if err := f.conn.QueryRowContext(ctx, "SELECT oid FROM refs WHERE name='head'").Scan(&old); err != nil {
		return err
	}
	for _, q := range []struct {
		text string
		args []any
	}{
		{"INSERT INTO objects VALUES (?, ?)", []any{oid, f.body}},
		{"UPDATE refs SET oid=? WHERE name='head' AND oid=?", []any{oid, old}},
		{"UPDATE sessions SET next=next+1 WHERE id=1", nil},
		{"INSERT INTO events VALUES (?, ?)", []any{f.n, f.body[:100]}},
		{"COMMIT", nil},
	} {
		if _, err := f.conn.ExecContext(ctx, q.text, q.args...); err != nil {
			return err
		}
	}
	return nil
}
