/** Whose mailbox an address is: most servers have what stands behind a plus arrive in the same one. */
export function mailboxOf(email: string): string {
  const at = email.lastIndexOf('@')
  const name = email.slice(0, at)
  return `${name.split('+')[0] || name}${email.slice(at)}`.toLowerCase()
}
