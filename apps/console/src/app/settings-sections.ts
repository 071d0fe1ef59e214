/** The sections of the settings by the name that stands in the address: `/settings?section=sessions`. */
export const SECTION_IDS = [
  'profile',
  'notifications',
  'billing',
  'sign-in',
  'sessions',
  'audit-log',
  'ssh-keys',
  'registries',
  'api-keys',
  'delete',
] as const
export type SectionId = (typeof SECTION_IDS)[number]
