package sqlitestore_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// 500 turns of 9 KB, with the refs and events of a turn, take at most 1.5 times the content.
func TestStoredBytes(t *testing.T) {
	words := make([]string, 4000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range words {
		b := make([]byte, 2+r.IntN(8))
		for j := range b {
			b[j] = 'a' + byte(r.IntN(26))
		}
		words[i] = string(b)
	}
	prose := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(words[int(float64(len(words))*r.Float64()*r.Float64())])
			b.WriteByte(' ')
		}
		return b.String()[:n]
	}
	random := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return base64.StdEncoding.EncodeToString(b)[:n]
	}
	for _, tc := range []struct {
		name string
		text func(int) string
	}{{"prose", prose}, {"random base64", random}} {
		t.Run(tc.name, func(t *testing.T) { storedBytes(t, tc.text) })
	}
}

func storedBytes(t *testing.T, text func(int) string) {
	const turns = 500
	path := newPath(t)
	st, err := sqlitestore.Open(t.Context(), path, &sqlitestore.Options{Synchronous: sqlitestore.Normal})
	must(t, err)
	s := create(t, st, "s")
	content, n := 0, 0
	refs := make(map[ref.Name]object.OID)
	write := func(reason string, e object.Encoded, names ...ref.Name) {
		n++
		updates := make([]store.Update, len(names))
		for i, name := range names {
			to := e.OID
			if i > 0 {
				to = oid(fmt.Sprint(n, i))
			}
			updates[i] = store.Update{Name: name, From: refs[name], To: to}
			refs[name] = to
		}
		out, err := s.UpdateRefs(t.Context(), updates, store.UpdateOptions{
			Reason: reason, Objects: []object.Encoded{e}, Actor: &object.Actor{UserID: "user_1", Device: "phone"},
		})
		must(t, err)
		if _, ok := out.(store.Updated); !ok {
			t.Fatalf("UpdateRefs = %#v", out)
		}
	}
	for turn := range turns {
		for _, size := range []int{1000, 4000, 3000, 1000} { // a question, a call with its result, an answer
			said := text(size)
			content += len(said)
			c := commit(refs["refs/heads/main"], turn)
			c.Run, c.Body = "run_0123456789ab", object.MessageBody{Message: userSays(said)}
			write("respond", encode(t, c), "refs/heads/main", "refs/runs/main", "refs/queues/main/user/base")
		}
		blob := object.Blob{Value: jsontext.Value(strconv.Itoa(turn))}
		write("submit", encode(t, blob), ref.Key(fmt.Sprint("key-", turn)), "refs/queues/main/user/tip")
	}
	must(t, st.Close())
	info, err := os.Stat(path)
	must(t, err)
	ratio := float64(info.Size()) / float64(content)
	t.Logf("%d turns: %d bytes for %d of content, %.2f times", turns, info.Size(), content, ratio)
	if ratio > 1.5 {
		t.Errorf("stored bytes are %.2f times the content, want at most 1.5", ratio)
	}
}
