// Command functionzip packs a function's binary for Lambda: functionzip BINARY ZIP. The same binary gives the same bytes, so that what has not changed is not
// deployed again.
package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: functionzip BINARY ZIP")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "functionzip:", err)
		os.Exit(1)
	}
}

// pack writes a zip with the one file that Lambda starts.
func pack(binary, to string) (err error) {
	in, err := os.Open(binary) //nolint:gosec // the caller's file
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.Create(to) //nolint:gosec // the caller's file
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	archive := zip.NewWriter(out)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
	header.SetMode(0o755)
	file, err := archive.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, in); err != nil {
		return err
	}
	return archive.Close()
}
