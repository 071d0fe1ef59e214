import { ActionIcon, Button } from '@mantine/core'
import { IconGift, IconMenu2, IconSearch } from '@tabler/icons-react'
import { Link, useLocation } from '@tanstack/react-router'
import { Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { BrandMark } from '../../ui/Brand.tsx'
import { lazyPart } from '../lazy-part.ts'
import { HOME_PATH } from '../session/redirect-target.ts'
import { useSession } from '../session/session.ts'
import { wayToSignIn } from '../way-to-sign-in.ts'
import { AvatarMenu } from './AvatarMenu.tsx'
import { BalanceChip } from './BalanceChip.tsx'
import classes from './Header.module.css'
import { Keys } from './Keys.tsx'
import { LanguageChoice } from './LanguageChoice.tsx'
import type { ShellCommands } from './shell-commands.ts'

const REFER_PATH = '/refer-earn'
// It says something while a video is made, and then a moment later than the rest.
const FilmChip = lazyPart(() => import('./FilmChip.tsx').then(module => module.FilmChip))
const PALETTE_KEYS = ['mod', 'k'] as const

interface HeaderProps {
  brand: string
  docsUrl: string | undefined
  commands: ShellCommands
}

/** The bar over every page: search, balance, and the customer's own menu; or the way in for a guest (R2.13). */
export function Header({ brand, docsUrl, commands }: HeaderProps) {
  const { t } = useTranslation('common')
  const { user } = useSession()
  const { href } = useLocation()
  return (
    <header className={classes.header}>
      <ActionIcon
        color="gray"
        className={classes.burger}
        onClick={commands.openMenu}
        aria-label={t('shell.open_menu')}
      >
        <IconMenu2 size={20} stroke={1.6} />
      </ActionIcon>
      <Link to={HOME_PATH} className={classes.mark} aria-label={brand}>
        <BrandMark />
      </Link>
      <button
        type="button"
        className={classes.search}
        onClick={commands.openPalette}
        aria-label={t('shell.search')}
        aria-keyshortcuts="Control+K Meta+K"
      >
        <IconSearch size={16} stroke={1.6} aria-hidden="true" />
        <span className={classes.hint}>{t('shell.search')}</span>
        <span className={classes.keys}>
          <Keys keys={PALETTE_KEYS} />
        </span>
      </button>
      <div className={classes.end}>
        {user ? (
          <>
            <Suspense>
              <FilmChip />
            </Suspense>
            <ReferButton guest={false} />
            <BalanceChip />
            <AvatarMenu user={user} docsUrl={docsUrl} commands={commands} />
          </>
        ) : (
          <>
            <ReferButton guest />
            <span className={classes.language}>
              <LanguageChoice />
            </span>
            <Button component="a" href={wayToSignIn('login', href)} variant="default">
              {t('shell.log_in')}
            </Button>
            <Button component="a" href={wayToSignIn('signup', href)}>
              {t('shell.sign_up')}
            </Button>
          </>
        )}
      </div>
    </header>
  )
}

/** To refer and earn; a guest logs in first, and comes out there (R2.13). */
function ReferButton({ guest }: { guest: boolean }) {
  const { t } = useTranslation('common')
  const text = (
    <>
      <IconGift size={16} stroke={1.6} aria-hidden="true" />
      <span>{t('shell.refer')}</span>
    </>
  )
  if (guest) {
    return (
      <a href={wayToSignIn('login', REFER_PATH)} className={classes.refer}>
        {text}
      </a>
    )
  }
  return (
    <Link to={REFER_PATH} className={classes.refer}>
      {text}
    </Link>
  )
}
