import { by, email, newPassword, typedPassword, username } from '@berth/contract/fields'
import * as z from 'zod'

/** What the log-in form holds. */
export const loginForm = z.object({ email, password: typedPassword })

/** What the sign-up form holds: the fields of the call, and the password once more (R5.2, R5.3). */
export const signupForm = z
  .object({
    name: username,
    email,
    password: newPassword,
    confirm: z.string(),
    agreement: z.boolean().refine(agreed => agreed, by('terms')),
  })
  .refine(values => values.password === values.confirm, {
    ...by('password_mismatch'),
    path: ['confirm'],
    // Said together with what else is wrong, not only when everything else is right.
    when: () => true,
  })
