/**
 * What a private key is known by, in the formats of OpenSSH, OpenSSL, PGP and PuTTY. The space between the words is
 * bounded, so that no text makes the search slow.
 */
const MARKS = /\bBEGIN [A-Z0-9 ]{0,40}PRIVATE KEY|PuTTY-User-Key-File|openssh-key-v1/i
/** `openssh-key-v1` in base64: an OpenSSH private key whose first and last lines were left out. */
const OPENSSH_BODY = 'b3BlbnNzaC1rZXktdjE'
/** Bytes of DER that are looked at. */
const HEAD_BYTES = 32
/** In hex, a DER sequence that begins with a version, 0 or 1: RSA, EC and PKCS #8 private keys. Public ones have none. */
const DER_PRIVATE = /^30(?:[0-7].|81..|82.{4})02010[01]/
/** A DER sequence that begins with an algorithm of PKCS #5 or #12: a PKCS #8 private key under a passphrase. */
const DER_ENCRYPTED = /^30(?:[0-7].|81..|82.{4})30(?:[0-7].|81..)060[9a]2a864886f70d010[5c]/

/**
 * Whether a text holds a private key, whole or without its first and last lines, also once more in base64. Asked
 * before a text is sent, kept or shown.
 * @param text What somebody typed or pasted.
 */
export function holdsPrivateKey(text: string): boolean {
  if (MARKS.test(text)) return true
  const packed = text.replace(/\s+/g, '')
  if (packed.includes(OPENSSH_BODY)) return true
  const decoded = decodeBase64(packed)
  if (decoded === null) return false
  const head = hexOf(decoded.slice(0, HEAD_BYTES))
  return (
    MARKS.test(decoded) ||
    decoded.replace(/\s+/g, '').includes(OPENSSH_BODY) ||
    DER_PRIVATE.test(head) ||
    DER_ENCRYPTED.test(head)
  )
}

/** The bytes as a text of one character each; null where it is no base64. */
function decodeBase64(text: string): string | null {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return null
  try {
    return atob(text.replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/'))
  } catch {
    return null
  }
}

function hexOf(bytes: string): string {
  return Array.from(bytes, byte => byte.charCodeAt(0).toString(16).padStart(2, '0')).join('')
}
