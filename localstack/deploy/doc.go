// Package deploy puts the stack of infra into the cloud that tests talk to, as `make deploy` puts it into an account: the same app of the
// CDK, the same command line, bootstrap included.
//
// Start needs node and npm besides what the emulator needs. The command line is pinned in localstack/package-lock.json and installed, with
// everything else that is made on the way, under .cache of the repository.
//
// What the emulator does otherwise than AWS is written down in localstack/README.md.
package deploy
