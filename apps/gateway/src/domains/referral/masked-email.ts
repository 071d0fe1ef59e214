/**
 * An address as somebody else is shown it: its first character, and where it is.
 * @returns Such as `j…@fastmail.com`.
 */
export function maskEmail(email: string): string {
  const at = email.lastIndexOf('@')
  const [first = ''] = email
  return at < 1 ? `${first}…` : `${first}…${email.slice(at)}`
}
