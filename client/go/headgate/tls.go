package headgate

import (
	"crypto/tls"
	"crypto/x509"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// TLS is how a client reaches a server over TLS, and who it says it is.
//
// Files are PEM. They are read again when they change, about a second later: a job may run for longer
// than its certificate lives. New ones are taken once certificate and key belong together; until then
// the ones before are used.
type TLS struct {
	// Authorities that the server's certificate is verified with. Empty: the system's.
	CAFile string
	// What the client shows, for servers that ask for it. Both or neither.
	CertificateFile string
	KeyFile         string
	// The name that the server's certificate has to have. Empty: the address's host.
	ServerName string
}

func (t *TLS) validate(tokenFile string) error {
	switch {
	case t == nil && tokenFile != "":
		return invalid("token_file: a token is sent over TLS only")
	case t != nil && (t.CertificateFile == "") != (t.KeyFile == ""):
		return invalid("tls: certificate_file and key_file are given together, or neither")
	}
	return nil
}

func (t *TLS) paths() []string {
	if t == nil {
		return nil
	}
	return []string{t.CAFile, t.CertificateFile, t.KeyFile}
}

// credentials are made of what is in the paths.
func (t *TLS) credentials(texts [][]byte) (credentials.TransportCredentials, error) {
	if t == nil {
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(texts[0]) {
			return nil, invalid("%s: holds no certificate", t.CAFile)
		}
	}
	if t.CertificateFile != "" {
		pair, err := tls.X509KeyPair(texts[1], texts[2])
		if err != nil {
			return nil, invalid("%s and %s: %v", t.CertificateFile, t.KeyFile, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}
