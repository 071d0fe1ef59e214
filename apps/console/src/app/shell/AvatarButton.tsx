import type { User } from '@berth/contract/account'
import type { ComponentPropsWithRef } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './AvatarMenu.module.css'

/** The round button with the customer's initials. */
export function AvatarButton({ user, ...rest }: { user: User } & ComponentPropsWithRef<'button'>) {
  const { t } = useTranslation('common')
  return (
    <button
      {...rest}
      type="button"
      className={classes.avatar}
      aria-haspopup="menu"
      // What is seen on it is part of what it is called, for those who speak to it.
      aria-label={`${t('avatar.label', { email: user.email })} (${initialsOf(user)})`}
    >
      {initialsOf(user)}
    </button>
  )
}

/** Two letters: of the name's words, or of the address. */
function initialsOf(user: User): string {
  const words = (user.displayName || user.email).split(/[\s._@-]+/).filter(Boolean)
  const letters =
    words.length > 1 ? words.slice(0, 2).map(word => [...word][0]) : [...(words[0] ?? '')].slice(0, 2)
  return letters.join('').toUpperCase()
}
