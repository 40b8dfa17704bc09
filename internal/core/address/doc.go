// Package address knows what of the addresses of repositories may be shown: they
// may hold a user, a password or a token, which no output may.
package address
