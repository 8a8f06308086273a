package sqlitestore_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

func TestOpen_RefusesWhatIsNotAStoreOfThisVersion(t *testing.T) {
	made := newPath(t)
	st, err := sqlitestore.Open(t.Context(), made, nil)
	must(t, err)
	set(t.Context(), t, create(t, st, "s"), "refs/a", object.OID{}, oid("a"))
	must(t, st.Close())
	good, err := os.ReadFile(made)
	must(t, err)

	header := func(offset int, value uint32) []byte {
		b := bytes.Clone(good)
		binary.BigEndian.PutUint32(b[offset:], value)
		return b
	}
	for _, tc := range []struct {
		name    string
		content []byte
		says    string
	}{
		{"newer version", header(60, 99), "schema version 99"},
		{"older version", header(60, 0), "schema version 0"},
		{"another application", header(68, 0), "another application"},
		{"not SQLite", bytes.Repeat([]byte("not a database\n"), 100), "not an SQLite file"},
		{"a short text", []byte("hello"), "not an SQLite file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := newPath(t)
			must(t, os.WriteFile(path, tc.content, 0o600))
			_, err := sqlitestore.Open(t.Context(), path, nil)
			if !errors.Is(err, sqlitestore.ErrWrongFile) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "move") {
				t.Errorf("Open: %v; want ErrWrongFile that says %q and what to do", err, tc.says)
			}
			after, err := os.ReadFile(path)
			must(t, err)
			if !bytes.Equal(after, tc.content) {
				t.Error("the refused file was modified")
			}
			files, err := os.ReadDir(filepath.Dir(path))
			must(t, err)
			if len(files) != 1 {
				t.Errorf("the refusal left %d files, want 1", len(files))
			}
		})
	}
	t.Run("the same file unchanged opens", func(t *testing.T) {
		path := newPath(t)
		must(t, os.WriteFile(path, good, 0o600))
		got := reopen(t, open(t, path, nil), "s")
		if oids, err := got.ReadRefs(t.Context(), "refs/a"); err != nil || oids[0] != oid("a") {
			t.Errorf("ReadRefs = %v, %v", oids, err)
		}
	})
}

func TestOpen_MakesMissingDirectories(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c%20#", "d", "stepwell.db")
	st := open(t, path, nil)
	create(t, st, "s")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatalf("the file is not where it was asked for: %v", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		t.Errorf("others may use the file: mode %v", mode)
	}
}

func TestOpen_ManyAtOnceOnANewFile(t *testing.T) {
	path := newPath(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			st, err := sqlitestore.Open(t.Context(), path, nil)
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			_, err = st.CreateSession(t.Context(), store.CreateOptions{ID: store.SessionID(string(rune('a' + i)))})
			if err != nil {
				t.Errorf("CreateSession: %v", err)
			}
			if err := st.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	wg.Wait()
	list, err := open(t, path, nil).ListSessions(t.Context(), store.ListOptions{})
	must(t, err)
	if len(list) != 8 {
		t.Errorf("%d sessions, want 8", len(list))
	}
}

func TestOpen_LinksLeadToOneStore(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	must(t, os.Mkdir(target, 0o700))
	must(t, os.Symlink(target, link))
	a := open(t, filepath.Join(target, "s.db"), nil)
	b := open(t, filepath.Join(link, "s.db"), nil)
	if a.Path() != b.Path() {
		t.Fatalf("paths differ: %s and %s", a.Path(), b.Path())
	}
	s := create(t, a, "s")
	if _, err := s.AcquireLease(t.Context(), "refs/heads/main", 1e12); err != nil {
		t.Fatal(err)
	}
	out, err := reopen(t, b, "s").AcquireLease(t.Context(), "refs/heads/main", 1e12)
	if _, held := out.(store.Held); !held {
		t.Errorf("AcquireLease through the link = %#v, %v; want Held: the holder lives", out, err)
	}
}

func TestClose_LeavesOneFile(t *testing.T) {
	path := newPath(t)
	st, err := sqlitestore.Open(t.Context(), path, nil)
	must(t, err)
	set(t.Context(), t, create(t, st, "s"), "refs/a", object.OID{}, oid("a"))
	must(t, st.Close())
	must(t, st.Close())
	for _, gone := range []string{path + "-wal", path + "-shm"} {
		if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", gone, err)
		}
	}
	owners, err := filepath.Glob(path + "-owners/*")
	must(t, err)
	if len(owners) != 1 { // the setup lock
		t.Errorf("left behind: %v", owners)
	}
}

func TestStats(t *testing.T) {
	st := open(t, newPath(t), nil)
	s := create(t, st, "s")
	set(t.Context(), t, s, "refs/a", object.OID{}, oid("a"))
	must(t, s.PutObjects(t.Context(), []object.Encoded{encode(t, commit(object.OID{}, 1))}))
	got, err := st.Stats(t.Context())
	must(t, err)
	if got.Sessions != 1 || got.Objects != 1 || got.Refs != 1 || got.Events != 1 || got.FileBytes+got.LogBytes == 0 {
		t.Errorf("Stats = %+v", got)
	}
	must(t, st.IntegrityCheck(t.Context()))
}

func TestIntegrityCheck_FindsDamage(t *testing.T) {
	path := newPath(t)
	st, err := sqlitestore.Open(t.Context(), path, nil)
	must(t, err)
	s := create(t, st, "s")
	var parent object.OID
	for n := range 200 {
		c := encode(t, commit(parent, n))
		parent = c.OID
		must(t, s.PutObjects(t.Context(), []object.Encoded{c}))
	}
	must(t, st.Close())
	raw, err := os.ReadFile(path)
	must(t, err)
	for i := 3 * len(raw) / 4; i < 3*len(raw)/4+4096; i++ {
		raw[i] ^= 0x55
	}
	must(t, os.WriteFile(path, raw, 0o600))
	if err := open(t, path, nil).IntegrityCheck(t.Context()); err == nil {
		t.Error("a damaged page is not reported")
	}
}
