package sqlitestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
)

// An owner is the proof that a Store is alive: an operating-system lock on a file of its own, held from Open to Close. Every
// lease it grants carries its id.
//
// Whoever meets a live lease of another Store tries that Store's lock. If the lock is free, or its file is gone, the Store is
// closed or its process is dead, and the lease is abandoned: it is taken over at once with a higher fence instead of after
// its expiry. This is sound:
//
//   - The file is made and locked before the first lease is granted, and its name is random, so it is never made again.
//   - The operating system drops the lock of a process only when all its threads have ended, so nothing of a Store whose lock is
//     free can still write. Close drops it after the last write.
//   - A process that is merely stopped, swapped out or debugged keeps its lock, so its lease lasts until it expires.
//   - If a lock cannot be tried for another reason, the lease counts as live.
//
// Should all of it fail, because someone deleted the directory, two holders are still told apart by their fence: the
// older one cannot write.
type owner struct {
	id     string
	dir    string
	lock   *flock.Flock
	touch  *os.File
	grants atomic.Int64
}

const (
	lockSuffix = ".lock"
	setupName  = "setup" // serializes Open
	// touchAt lies outside of what Windows locks of the file.
	touchAt = 64
)

// setupLock makes the directory and waits for the lock under which stores are made and dead owners are swept.
func setupLock(ctx context.Context, dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the owners directory: %w", err)
	}
	l := flock.New(filepath.Join(dir, setupName+lockSuffix))
	if _, err := l.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, fmt.Errorf("waiting for another process that opens the store: %w", err)
	}
	return l, nil
}

// claim makes this Store's file and locks it. The caller holds the setup lock, so that no sweep sees the file unlocked.
func claim(dir string) (*owner, error) {
	id := strings.ToLower(rand.Text())[:16]
	path := filepath.Join(dir, id+lockSuffix)
	l := flock.New(path)
	switch ok, err := l.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("locking the owner file: %w", err)
	case !ok:
		return nil, fmt.Errorf("locking the owner file: %s is locked by another process", path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the owner file: %w", err), l.Close())
	}
	return &owner{id: id, dir: dir, lock: l, touch: f}, nil
}

// sweep removes the files of dead owners. The caller holds the setup lock. Failures only leave a file behind.
func sweep(dir string) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, f := range files {
		if id, ok := strings.CutSuffix(f.Name(), lockSuffix); ok && id != setupName {
			isDead(dir, id)
		}
	}
}

// isDead reports whether the Store id provably ended, and removes what it left. It tries the lock in shared mode, so that two who
// ask at the same time do not take each other for the owner.
func isDead(dir, id string) bool {
	path := filepath.Join(dir, id+lockSuffix)
	l := flock.New(path, flock.SetFlag(os.O_RDONLY)) // does not make the file
	ok, err := l.TryRLock()
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	_ = l.Close() // releases what TryRLock took
	if ok {
		_ = os.Remove(path) // a file that stays is swept later
	}
	return ok
}

// grant returns an owner name that no other grant of any Store has.
func (o *owner) grant() string { return o.id + "." + strconv.FormatInt(o.grants.Add(1), 36) }

// abandoned reports whether the grant belongs to a Store that provably ended.
func (o *owner) abandoned(grant string) bool {
	id, _, ok := strings.Cut(grant, ".")
	if !ok || id == o.id || id == "" || strings.ContainsAny(id, `/\`) {
		return false
	}
	return isDead(o.dir, id)
}

// signal touches the file, which wakes the watches of other processes.
func (o *owner) signal() error {
	_, err := o.touch.WriteAt([]byte{'.'}, touchAt)
	return err
}

// release frees everything; from then on the leases of this Store are abandoned.
func (o *owner) release() error {
	path := o.lock.Path()
	return errors.Join(o.touch.Close(), os.Remove(path), o.lock.Close())
}
