package object_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

const goldenDir = "../../../testdata/objects"

var update = flag.Bool("update", false, "write the golden objects of new samples; existing ones are never rewritten")

// Golden bytes per kind (conformance 1 to 6). A failure means that the bytes or the oid of stored objects would change:
// the change is wrong, not the test.
func TestGoldenObjects(t *testing.T) {
	index := readIndex(t)
	for name, o := range samples() {
		enc := encode(t, o)
		want, known := index[name]
		switch {
		case !known && *update:
			index[name] = enc.OID.String()
			if err := os.WriteFile(goldenPath(enc.OID.String()), enc.Body, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		case !known:
			t.Errorf("%s: no golden object; run go test ./pkg/kernel/object -update", name)
			continue
		case want != enc.OID.String():
			t.Errorf("%s: the oid is %s, it was %s", name, enc.OID, want)
		}
		body, err := os.ReadFile(goldenPath(want))
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(body), string(enc.Body)); diff != "" {
			t.Errorf("%s: bytes (-stored +encoded):\n%s", name, diff)
		}
	}
	for name := range index {
		if _, ok := samples()[name]; !ok {
			t.Errorf("%s: the index names an object that no sample makes", name)
		}
	}
	if *update && !t.Failed() {
		writeIndex(t, index)
	}
}

// The files prove themselves: each is named by the SHA-256 of its bytes, decodes, and is listed once.
func TestGoldenFiles(t *testing.T) {
	listed := slices.Sorted(func(yield func(string) bool) {
		for _, oid := range readIndex(t) {
			if !yield(oid + ".json") {
				return
			}
		}
	})
	files, err := filepath.Glob(filepath.Join(goldenDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range files {
		found = append(found, filepath.Base(path))
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(body)
		if got := hex.EncodeToString(sum[:]) + ".json"; got != filepath.Base(path) {
			t.Errorf("%s has the hash %s", filepath.Base(path), got)
		}
		if _, err := object.Decode(sum, body); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(listed, found); diff != "" {
		t.Errorf("golden files (-index +directory):\n%s", diff)
	}
}

func goldenPath(oid string) string { return filepath.Join(goldenDir, oid+".json") }

// readIndex returns the oids by sample name out of the table rows of the index.
func readIndex(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(goldenDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	index := map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		name, oid := strings.Trim(cells[1], " `"), strings.Trim(cells[2], " `")
		if _, err := object.ParseOID(oid); err == nil {
			index[name] = oid
		}
	}
	return index
}

func writeIndex(t *testing.T, index map[string]string) {
	t.Helper()
	path := filepath.Join(goldenDir, "README.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(text), "| ---")
	if !ok {
		t.Fatal("the index has no table")
	}
	var b strings.Builder
	b.WriteString(head + "| --- | --- |\n")
	names := make([]string, 0, len(index))
	for name := range index {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "| %s | `%s` |\n", name, index[name])
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
