import { by } from '@berth/contract/fields'

/**
 * For `.refine()` on a form that takes a new password twice (R5.2).
 * @param values What the form holds.
 */
export const isConfirmed = (values: { password: string; confirm: string }): boolean =>
  values.password === values.confirm

/** The rule that goes with it: said together with what else is wrong, not only when everything else is right. */
export const MISMATCH = { ...by('password_mismatch'), path: ['confirm'], when: () => true }
