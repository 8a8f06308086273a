// Package boot reads the configuration and composes a host from it: the store, the models, the tools and the SDK over
// them. Only mains import it.
package boot
