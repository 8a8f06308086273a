package view

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// ChangesOf returns the commits that a run wrote on the branch of tip, oldest first, what it landed included. Only a head's run
// writes to its branch, so they stand together, and older ones need not be read.
func ChangesOf(ctx context.Context, r store.ObjectReader, tip object.OID, run string) ([]Commit, error) {
	var out []Commit
	if run == "" {
		return nil, nil
	}
	for c, err := range Walk(ctx, r, tip, object.OID{}) {
		if err != nil {
			return nil, err
		}
		switch c.Commit.Run {
		case run:
			out = append(out, c)
			continue
		case "": // a participant's checkpoint or summary
			continue
		}
		if len(out) > 0 {
			break
		}
	}
	slices.Reverse(out)
	return out, nil
}

// A FileChange is what commits did to one file, in lines.
type FileChange struct {
	Path           string
	Added, Removed int
	LastCommit     object.OID // the newest one that touched the file
}

// A DiffStat counts files and lines.
type DiffStat struct{ Files, Added, Removed int }

// DiffStatOf adds up changes.
func DiffStatOf(changes []FileChange) DiffStat {
	s := DiffStat{Files: len(changes)}
	for _, c := range changes {
		s.Added += c.Added
		s.Removed += c.Removed
	}
	return s
}

// FileChanges adds up the patches of commits by file, in the order in which files were first touched. A patch is the member "patch" of a
// tool result's details, a unified diff; without file names in it, "path" names the file. Failed calls changed nothing.
func FileChanges(commits []Commit) []FileChange {
	var out []FileChange
	index := make(map[string]int)
	for _, c := range commits {
		for _, f := range commitPatch(c) {
			i, ok := index[f.path]
			if !ok {
				i = len(out)
				index[f.path] = i
				out = append(out, FileChange{Path: f.path})
			}
			out[i].Added += f.added
			out[i].Removed += f.removed
			out[i].LastCommit = c.OID
		}
	}
	return out
}

func commitPatch(c Commit) []filePatch {
	b, ok := c.Commit.Body.(object.MessageBody)
	if !ok {
		return nil
	}
	m, ok := b.Message.(message.ToolResult)
	if !ok || m.IsError || len(m.Details) == 0 {
		return nil
	}
	var details struct {
		Patch any `json:"patch"`
		Path  any `json:"path"`
	}
	if json.Unmarshal(m.Details, &details) != nil {
		return nil // details are the tool's own: not every tool's are an object
	}
	patch, _ := details.Patch.(string)
	path, _ := details.Path.(string)
	return readPatch(patch, path)
}
