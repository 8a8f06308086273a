package stacktest_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }

func isNotFound(err error) bool {
	return errors.Is(err, api.ErrSessionNotFound)
}

func plain(content []message.Content) string {
	var b strings.Builder
	for _, c := range content {
		if t, ok := c.(message.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// get asks for an address with a token, if there is one, and reads the answer to its end.
func (s *stack) get(url, token, accept string) (status int, body string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, url, nil)
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	all, err := io.ReadAll(resp.Body)
	if closed := resp.Body.Close(); err != nil || closed != nil {
		s.Fatalf("reading %s: %v, %v", url, err, closed)
	}
	return resp.StatusCode, string(all)
}

// The feed is there in both forms: as pages by cursor over the API, and as server-sent events over the function's own address. The emulator
// hands a stream over when it has ended, so the stream is asked for what is there and cut by a session that is deleted; how it streams is proven
// at the reader, in internal/lambdahttp.
func (s *stack) events(t *testing.T) {
	s = s.in(t)
	c := s.as("acme", "ann")
	id := s.create(c)
	s.send(c, id, "hello", "k")
	s.idle(c, id)
	token := s.token("acme", "ann")
	feed := fmt.Sprintf("/v1/sessions/%s/events?after=0", id)
	status, page := s.get(s.APIURL+feed, token, "application/json")
	if status != http.StatusOK || !strings.Contains(page, `"synced":true`) || !strings.Contains(page, "You said: hello") {
		t.Errorf("the page of events is %d %.300s", status, page)
	}
	if status, _ := s.get(s.EventsURL+feed, "", "text/event-stream"); status != http.StatusUnauthorized {
		t.Errorf("a stream without a token: %d", status)
	}
	if status, _ := s.get(s.EventsURL+feed, s.token("evil", "eve"), "text/event-stream"); status != http.StatusNotFound {
		t.Errorf("a stream of another tenant's session: %d", status)
	}
	t.Log("the emulator does not stream: a driver reads what the stream had when it ended")
	done := make(chan string, 1)
	go func() {
		_, all := s.get(s.EventsURL+feed, token, "text/event-stream")
		done <- all
	}()
	s.send(c, id, "and again", "k2")
	s.idle(c, id)
	if err := c.DeleteSession(t.Context(), api.DeleteSessionOptions{SessionID: id}); err != nil {
		t.Fatal(err)
	}
	all := <-done
	if !strings.Contains(all, "You said: hello") || !strings.Contains(all, "event: synced") || !strings.Contains(all, "id: ") {
		t.Errorf("the stream had %.600s", all)
	}
}
