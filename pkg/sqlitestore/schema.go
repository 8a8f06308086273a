package sqlitestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// schemaVersion is the layout of the tables, kept in user_version. There is no migration: a file of another version is
// refused.
const schemaVersion = 2

// applicationID marks a file as ours ("Step").
const applicationID = 0x53746570

// The tables. Objects and events lie in rowid tables: those are filled from left to right and hold a row of up to a page, while a row of a
// few kilobytes inside an index would leave most of a page of its own empty. Session keys are never used twice (AUTOINCREMENT), so that a handle on a
// deleted session cannot reach a later one of the same id.
const schema = `
CREATE TABLE sessions (
	key         INTEGER PRIMARY KEY AUTOINCREMENT,
	id          TEXT    NOT NULL UNIQUE,
	owner       TEXT    NOT NULL,
	created_at  INTEGER NOT NULL,
	next_seq    INTEGER NOT NULL,
	event_floor INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_of_owner ON sessions (owner) WHERE owner<>'';
CREATE TABLE objects (
	session INTEGER NOT NULL,
	oid     BLOB    NOT NULL,
	kind    TEXT    NOT NULL,
	parent  BLOB,
	at      INTEGER NOT NULL,
	codec   INTEGER NOT NULL,
	body    BLOB    NOT NULL,
	UNIQUE (session, oid)
) STRICT;
CREATE TABLE refs (
	session INTEGER NOT NULL,
	name    TEXT    NOT NULL,
	oid     BLOB    NOT NULL,
	PRIMARY KEY (session, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE leases (
	session    INTEGER NOT NULL,
	name       TEXT    NOT NULL,
	owner      TEXT    NOT NULL,
	fence      INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	PRIMARY KEY (session, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
	session INTEGER NOT NULL,
	seq     INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	body    BLOB    NOT NULL,
	UNIQUE (session, seq)
) STRICT;
`

// ErrWrongFile reports a file that is not a store of this version. It was not modified.
var ErrWrongFile = errors.New("not a store of this version")

// inspect reports whether path holds a store of this version, from the bytes of its header alone: opening a file of someone
// else with SQLite could already change it. The header is decisive because a store is made in rollback mode, see create, so
// that both numbers are in the file as soon as it has any content. A missing or empty file is no store yet.
func inspect(path string) (exists bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("opening the store: %w", err)
	}
	defer func() { _ = f.Close() }()
	header := make([]byte, 100)
	switch n, err := io.ReadFull(f, header); {
	case n == 0 && errors.Is(err, io.EOF):
		return false, nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return false, fmt.Errorf("reading the header of %s: %w", path, err)
	case string(header[:16]) != "SQLite format 3\x00":
		return false, fmt.Errorf("%w: %s is not an SQLite file; choose another path or move the file away", ErrWrongFile, path)
	}
	if id := binary.BigEndian.Uint32(header[68:]); id != applicationID {
		return false, fmt.Errorf("%w: %s is an SQLite file of another application (id %#x); choose another path or move the file away",
			ErrWrongFile, path, id)
	}
	return true, checkVersion(path, int64(binary.BigEndian.Uint32(header[60:])))
}

func checkVersion(path string, version int64) error {
	if version == schemaVersion {
		return nil
	}
	return fmt.Errorf("%w: %s has schema version %d and this program reads version %d; use the program that wrote the file, or move "+
		"the file away to start empty. Nothing was changed", ErrWrongFile, path, version, schemaVersion)
}

// create makes the tables of an empty file in one transaction, in rollback mode. The caller holds the setup lock. A page of 8 KB
// takes a few large bodies without leaving the last half empty; 4 KB pages make files a quarter larger.
func create(c *conn) error {
	err := c.script(fmt.Sprintf("PRAGMA page_size=8192;BEGIN EXCLUSIVE;%sPRAGMA application_id=%d;PRAGMA user_version=%d;COMMIT",
		schema, applicationID, schemaVersion))
	if err != nil {
		return fmt.Errorf("making the tables: %w", err)
	}
	return nil
}
