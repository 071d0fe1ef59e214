import ssh2 from 'ssh2'

/**
 * A pair of ed25519 keys of a customer, as OpenSSH writes them. What ssh2 makes it cannot read itself once in some hundred
 * times, where a key begins with zeros.
 */
export function makeKeyPair(): { private: string; public: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519')
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error)) return pair
  }
}
