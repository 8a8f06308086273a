package sqlitestore_test

import (
	"database/sql/driver"
	"testing"

	"modernc.org/sqlite"
)

// sql runs one statement on the file, as another program could.
func sql(t testing.TB, path, query string, args ...driver.Value) {
	t.Helper()
	c, err := (&sqlite.Driver{}).Open(path + "?_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	res, err := c.(driver.ExecerContext).ExecContext(t.Context(), query, named)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s: changed %d rows, %v", query, n, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
