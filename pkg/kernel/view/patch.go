package view

import (
	"strconv"
	"strings"
)

// A filePatch is what a unified diff does to one file, in lines.
type filePatch struct {
	path           string
	added, removed int
}

// readPatch reads a unified diff, of git or of anyone else. Lines of a hunk without a file name belong to path. What is not a diff is
// passed over.
func readPatch(patch, path string) []filePatch {
	p := patchReader{path: path}
	for line := range strings.Lines(patch) {
		p.line(strings.TrimRight(line, "\r\n"))
	}
	return p.files
}

type patchReader struct {
	files    []filePatch
	path     string // of the file being read
	old, now int    // lines of the hunk still to come
}

func (p *patchReader) line(line string) {
	if p.old > 0 || p.now > 0 {
		if p.hunkLine(line) {
			return
		}
		p.old, p.now = 0, 0 // cut short
	}
	if name, ok := strings.CutPrefix(line, "--- "); ok {
		p.path = fileName(name)
	} else if name, ok := strings.CutPrefix(line, "+++ "); ok {
		if f := fileName(name); f != "" { // a removed file keeps its old name
			p.path = f
		}
	} else if name, ok := strings.CutPrefix(line, "rename to "); ok {
		p.path = unquote(name)
		p.file()
	} else if rest, ok := strings.CutPrefix(line, "@@ -"); ok {
		p.old, p.now = hunkSize(rest)
		p.file()
	}
}

// hunkLine takes a line of a hunk and reports whether it is one. Only the counts of its header tell a removed line "-- x" from
// the name of a file.
func (p *patchReader) hunkLine(line string) bool {
	f := p.file()
	switch {
	case strings.HasPrefix(line, "+"):
		p.now--
		f.added++
	case strings.HasPrefix(line, "-"):
		p.old--
		f.removed++
	case strings.HasPrefix(line, " "), line == "":
		p.old--
		p.now--
	case strings.HasPrefix(line, `\`): // no newline at end of file
	default:
		return false
	}
	return true
}

// file returns the entry of the file being read.
func (p *patchReader) file() *filePatch {
	if p.path == "" {
		return &filePatch{} // nobody's: not reported
	}
	for i := range p.files {
		if p.files[i].path == p.path {
			return &p.files[i]
		}
	}
	p.files = append(p.files, filePatch{path: p.path})
	return &p.files[len(p.files)-1]
}

// fileName reads the name behind --- or +++; "" is no file.
func fileName(s string) string {
	s, _, _ = strings.Cut(s, "\t") // a time
	s = unquote(s)
	if s == "/dev/null" {
		return ""
	}
	if rest, ok := strings.CutPrefix(s, "a/"); ok {
		return rest
	}
	return strings.TrimPrefix(s, "b/")
}

// unquote reads a name as git writes it when it has unusual characters.
func unquote(s string) string {
	if strings.HasPrefix(s, `"`) {
		if u, err := strconv.Unquote(s); err == nil {
			return u
		}
	}
	return s
}

// hunkSize reads "<old>[,<count>] +<new>[,<count>] @@".
func hunkSize(s string) (old, now int) {
	before, rest, ok := strings.Cut(s, " +")
	if !ok {
		return 0, 0
	}
	after, _, _ := strings.Cut(rest, " ")
	return rangeSize(before), rangeSize(after)
}

func rangeSize(s string) int {
	_, count, ok := strings.Cut(s, ",")
	if !ok {
		return 1
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return 0
	}
	return max(n, 0)
}
