package object

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A Body is what a commit or a change holds: [MessageBody], [CheckpointBody], [SummaryBody], [ConfigBody] or [NoteBody].
//
//sumtype:decl
type Body interface{ body() }

func (MessageBody) body()    {}
func (CheckpointBody) body() {}
func (SummaryBody) body()    {}
func (ConfigBody) body()     {}
func (NoteBody) body()       {}

// A MessageBody is one message of the conversation.
type MessageBody struct {
	Message message.Message `json:"message"`
	Agent   string          `json:"agent,omitzero"` // the agent chosen with the message; part of the configuration fold
}

// A CheckpointBody is a context boundary: context starts at the newest one.
type CheckpointBody struct {
	Summary      string            `json:"summary"` // "" when Material alone carries the past
	RetainedTail []message.Message `json:"retainedTail"`
	TokensBefore int               `json:"tokensBefore"`
	Material     *Material         `json:"material,omitzero"`
	Usage        *message.Usage    `json:"usage,omitzero"`
	// Config is the branch configuration folded up to here, so that later folds stop at the checkpoint.
	Config *Config `json:"config,omitzero"`
}

// Material is a provider's own form of a checkpoint, used only when provider, API and model all match.
type Material struct {
	Type     string         `json:"type"` // "provider"
	Provider string         `json:"provider"`
	API      string         `json:"api"`
	Model    string         `json:"model"`
	Data     jsontext.Value `json:"data"`
}

// A SummaryBody carries an abandoned path forward by meaning. It joins the context as one user message.
type SummaryBody struct {
	Text  string         `json:"text"`
	Usage *message.Usage `json:"usage,omitzero"`
}

// A ConfigBody declares configuration; the latest value of each member wins over the whole branch.
type ConfigBody struct {
	Model         *Model `json:"model,omitzero"`
	ThinkingLevel string `json:"thinkingLevel,omitzero"`
	Agent         string `json:"agent,omitzero"`
}

// A NoteBody is never seen by a model.
type NoteBody struct {
	Type string         `json:"type"`
	Data jsontext.Value `json:"data"`
}

// A Model names a model of a provider.
type Model struct {
	Provider string `json:"provider,omitzero"`
	ID       string `json:"id"`
}

// A Config is folded branch configuration.
type Config struct {
	Model         *Model `json:"model,omitzero"`
	ThinkingLevel string `json:"thinkingLevel,omitzero"`
	Agent         string `json:"agent,omitzero"`
}

// With returns c with what b declares: the latest value of each member wins.
func (c Config) With(b Body) Config {
	switch b := b.(type) {
	case ConfigBody:
		if b.Model != nil {
			c.Model = b.Model
		}
		if b.ThinkingLevel != "" {
			c.ThinkingLevel = b.ThinkingLevel
		}
		if b.Agent != "" {
			c.Agent = b.Agent
		}
	case MessageBody:
		if b.Agent != "" {
			c.Agent = b.Agent
		}
	case CheckpointBody:
		if b.Config != nil {
			c = *b.Config
		}
	case SummaryBody, NoteBody:
	}
	return c
}

// Equal reports whether c and d say the same.
func (c Config) Equal(d Config) bool {
	if (c.Model == nil) != (d.Model == nil) || (c.Model != nil && *c.Model != *d.Model) {
		return false
	}
	return c.ThinkingLevel == d.ThinkingLevel && c.Agent == d.Agent
}
