package api

// The limits that every [Service] holds. They are part of the contract: a request within all of them is not refused for its size. Text that
// grows much when it is escaped in JSON meets MaxBody before MaxText.
const (
	// MaxText is the most bytes of text that one message may have, all its text parts together.
	MaxText = 1 << 20
	// MaxContent is the most bytes that one message may have, images in base64 included.
	MaxContent = 1536 << 10
	// MaxParts is the most parts that one message may have.
	MaxParts = 256
	// MaxBody is the most bytes that a request body may have.
	MaxBody = 2 << 20
	// MaxReply is the most bytes that the JSON of a reply may have.
	MaxReply = 256 << 10
	// MaxKey is the longest submission key, in bytes.
	MaxKey = 255
	// MaxName is the longest name of a head, a lane or an agent, in bytes.
	MaxName = 200
	// MaxTitle is the longest name of a session, in bytes.
	MaxTitle = 500
	// MaxID is the longest session, run or call id, in bytes.
	MaxID = 128
	// MaxCallID is the longest id of a tool call, in bytes. Providers choose it.
	MaxCallID = 512
	// MaxRefPrefix is the longest prefix of ref names to list, in bytes.
	MaxRefPrefix = 1024
	// DefaultPage is how many items a page has when no limit is given.
	DefaultPage = 50
	// MaxPage is the most items a page may have.
	MaxPage = 200
)
