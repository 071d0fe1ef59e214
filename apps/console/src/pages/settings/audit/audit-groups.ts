/** What the audit log can be narrowed to: the first part of an operation's name. */
export const AUDIT_GROUPS = [
  'account',
  'instance',
  'file',
  'bill',
  'referral',
  'notification',
  'ssh_key',
  'registry',
  'deploy_template',
  'api_key',
  'offer_watch',
  'netvolume',
  'image',
  'eip',
] as const
export type AuditGroup = (typeof AUDIT_GROUPS)[number]
