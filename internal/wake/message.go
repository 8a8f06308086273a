package wake

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// A Message says that somebody should look at a session. It is a hint and never a claim.
type Message struct {
	Tenant  string        `json:"tenant"`
	Session api.SessionID `json:"session"`
	// Head is the head that is meant; empty: any.
	Head string `json:"head,omitzero"`
	// Watch asks whoever finds the head held to look again after the holder's expiry.
	Watch bool `json:"watch,omitzero"`
	// Check says that this is somebody's second look: whoever commits something tells the queue as well, and is most often first.
	Check bool `json:"check,omitzero"`
}

// ErrMessage reports a message that nobody of ours sent.
var ErrMessage = errors.New("not a wake message")

// ParseMessage reads a message. Members that it does not know are passed over: a later version may have sent it.
func ParseMessage(body []byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(body, &m); err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if err := (api.HeadOptions{SessionID: m.Session, Head: m.Head}).Validate(); err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return m, nil
}

// to returns a message about another head of the same session.
func (m Message) to(head string) Message {
	return Message{Tenant: m.Tenant, Session: m.Session, Head: head}
}

func (m Message) encode() ([]byte, error) { return json.Marshal(m) }
