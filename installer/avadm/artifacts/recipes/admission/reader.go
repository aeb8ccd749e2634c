package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// The largest list that is read: of some 30,000 Ingresses.
const largestList = 64 << 20

// find reads an object of the API; it tells whether there is one.
type find func(path string, into interface{}) (bool, error)

// reader returns what reads objects of the API server of this node, as it is in etcd now.
func reader(server, authority string, pair tls.Certificate) (find, error) {
	pem, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", authority)
	}
	settings := &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: settings}}
	return func(path string, into interface{}) (bool, error) {
		answer, err := client.Get(server + path)
		if err != nil {
			return false, err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(io.LimitReader(answer.Body, largestList))
		switch {
		case err != nil:
			return false, err
		case answer.StatusCode == http.StatusNotFound:
			return false, nil
		case answer.StatusCode != http.StatusOK:
			return false, fmt.Errorf("the API answers %s", answer.Status)
		}
		return true, json.Unmarshal(body, into)
	}, nil
}
