// Package pki makes the certificates of one plane: short-lived ECDSA
// authorities whose keys never leave the plane's directory or memory.
package pki
