// Package certificate makes the certificates that the controllers of a rehearsal
// issue: real X.509, signed by the authority that the issuer names, so that
// whoever checks a chain on the plane checks what production would hold.
package certificate
