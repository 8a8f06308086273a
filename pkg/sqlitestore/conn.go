package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A conn is one connection with its prepared statements. It uses the driver directly: database/sql would add a lock, a pool
// look-up and several allocations to each of the statements of a transaction. A conn belongs to one goroutine at a time.
type conn struct {
	raw   driver.Conn
	base  context.Context        //nolint:containedctx // the driver wants one; statements are short and never interrupted
	stmts map[string]driver.Stmt // by their text, of which there are few
	args  []driver.NamedValue
}

// dsn returns the URI that opens path whatever characters it has.
func dsn(path string, params ...string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") { // a volume, as in C:/stepwell.db
		p = "/" + p
	}
	u := url.URL{Scheme: "file", Path: p, RawQuery: strings.Join(params, "&")}
	return u.String()
}

func dial(ctx context.Context, path string, params ...string) (*conn, error) {
	raw, err := (&sqlite.Driver{}).Open(dsn(path, params...))
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	return &conn{raw: raw, base: context.WithoutCancel(ctx), stmts: make(map[string]driver.Stmt)}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// exec runs a statement to its end and returns how many rows it changed.
func (c *conn) exec(query string, args ...driver.Value) (int64, error) {
	s, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	//nolint:errcheck // every statement of this driver has the method
	res, err := s.(driver.StmtExecContext).ExecContext(c.base, c.bind(args))
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// query calls each with every row until each fails. The row is valid only during the call.
func (c *conn) query(query string, each func(row []driver.Value) error, args ...driver.Value) error {
	return c.interruptible(c.base, query, each, args...)
}

// interruptible is query for a statement that may take long: it ends when ctx does.
func (c *conn) interruptible(ctx context.Context, query string, each func(row []driver.Value) error, args ...driver.Value) (err error) {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	//nolint:errcheck // every statement of this driver has the method
	rows, err := s.(driver.StmtQueryContext).QueryContext(ctx, c.bind(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := each(row); err != nil {
			return err
		}
	}
}

// one is query for at most one row; ok is false when there is none.
func (c *conn) one(query string, each func(row []driver.Value) error, args ...driver.Value) (ok bool, err error) {
	err = c.query(query, func(row []driver.Value) error {
		ok = true
		return each(row)
	}, args...)
	return ok, err
}

// number returns the integer of a statement with at most one row of one column; ok is false when there is none.
func (c *conn) number(query string, args ...driver.Value) (n int64, ok bool, err error) {
	ok, err = c.one(query, func(row []driver.Value) (err error) {
		n, err = asInt(row[0])
		return err
	}, args...)
	return n, ok, err
}

// script runs statements that are not worth keeping prepared.
func (c *conn) script(text string) error {
	//nolint:errcheck // every connection of this driver has the method
	_, err := c.raw.(driver.ExecerContext).ExecContext(c.base, text, nil)
	return err
}

func (c *conn) prepare(query string) (driver.Stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	//nolint:errcheck // every connection of this driver has the method
	s, err := c.raw.(driver.ConnPrepareContext).PrepareContext(c.base, query)
	if err != nil {
		return nil, fmt.Errorf("preparing %q: %w", query, err)
	}
	c.stmts[query] = s
	return s, nil
}

func (c *conn) bind(args []driver.Value) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// isBusy reports whether err says that another connection holds the lock.
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_BUSY || e.Code()&0xff == sqlite3.SQLITE_LOCKED)
}

var errColumn = errors.New("a column holds a value of another type; the file was changed by another program")

func asInt(v driver.Value) (int64, error) {
	n, ok := v.(int64)
	if !ok {
		return 0, errColumn
	}
	return n, nil
}

func asText(v driver.Value) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", errColumn
	}
	return s, nil
}

// asBytes returns the bytes of a blob; the driver gives nil for an empty one.
func asBytes(v driver.Value) ([]byte, error) {
	b, ok := v.([]byte)
	if !ok && v != nil {
		return nil, errColumn
	}
	return b, nil
}
