package kerneltest

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// Draw makes the commits and heads of a picture and returns the commits by name:
//
//	A-b-C*-d   trunk
//	   \-E-f   side
//
// A dash joins a commit to its parent, and a backslash stands below or right below the name that a branch starts from; a root has neither.
// The word behind a branch is the head that points to its last commit. A name with a capital is a user message, one without an answer; a star
// makes it a checkpoint that summarises, with the name as its summary.
func Draw(t testing.TB, s store.Session, picture string) map[string]object.OID {
	t.Helper()
	commits := make(map[string]object.OID)
	var objs []object.Encoded
	var heads []store.Update
	type place struct{ row, from, to int }
	at := make(map[place]object.OID)
	for row, line := range strings.Split(picture, "\n") {
		var parent object.OID
		joined := false
		for i := 0; i < len(line); {
			switch c := rune(line[i]); {
			case c == '\\':
				above := -1
				for p, oid := range at {
					if p.row > above && p.row < row && p.from <= i && i <= p.to {
						above, parent, joined = p.row, oid, true
					}
				}
				if above < 0 {
					t.Fatalf("nothing stands above the backslash in line %d", row+1)
				}
				i++
			case c == '-':
				joined = true
				i++
			case !letter(c):
				i++
			default:
				end := i
				for end < len(line) && letter(rune(line[end])) {
					end++
				}
				word := line[i:end]
				if !parent.IsZero() && !joined {
					heads = append(heads, store.Update{Name: ref.Head(word), To: parent})
					i = end
					continue
				}
				enc := Must(object.Encode(object.Commit{Parent: parent, Body: drawn(word), At: object.Millis(len(objs) + 1)}))(t)
				objs = append(objs, enc)
				parent, joined = enc.OID, false
				commits[word] = parent
				at[place{row, i, end}] = parent
				i = end
			}
		}
	}
	if _, ok := Must(s.UpdateRefs(t.Context(), heads, store.UpdateOptions{Reason: "create", Objects: objs}))(t).(store.Updated); !ok {
		t.Fatal("a head of the picture exists already")
	}
	return commits
}

func letter(c rune) bool { return c == '*' || unicode.IsLetter(c) || unicode.IsDigit(c) }

func drawn(name string) object.Body {
	switch {
	case strings.HasSuffix(name, "*"):
		return object.CheckpointBody{Summary: name}
	case unicode.IsUpper(rune(name[0])):
		return object.MessageBody{Message: message.NewUser(name, 1)}
	}
	return object.MessageBody{Message: scene.Says(name, 1)}
}
