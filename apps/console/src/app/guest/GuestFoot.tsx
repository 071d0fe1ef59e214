import { LANGUAGES } from '@berth/contract/limits'
import { type MantineColorScheme, useMantineColorScheme } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { currentLanguage, LANGUAGE_NAMES, setLanguage } from '../i18n.ts'
import classes from './GuestFoot.module.css'

const SCHEMES = ['light', 'dark', 'auto'] as const

interface GuestFootProps {
  /** Where its docs and terms are read; not given until it is known. */
  brand?: { docs_url: string; terms_url: string } | undefined
  mailbox?: boolean
}

/** Language, theme, docs and terms, where there is no avatar menu to hold them. The browser's own lists weigh nothing. */
export function GuestFoot({ brand, mailbox = false }: GuestFootProps) {
  const { t } = useTranslation(['common', 'auth'])
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const choose = (value: string) => {
    const language = LANGUAGES.find(name => name === value)
    if (language) void setLanguage(language)
  }
  return (
    <nav className={classes.foot} aria-label={t('auth:foot.label')}>
      <div className={classes.line}>
        <span>
          <select
            className={classes.choice}
            aria-label={t('language.label')}
            value={currentLanguage()}
            onChange={event => choose(event.currentTarget.value)}
          >
            {LANGUAGES.map(language => (
              <option key={language} value={language} lang={language}>
                {LANGUAGE_NAMES[language]}
              </option>
            ))}
          </select>
        </span>
        <span>
          <select
            className={classes.choice}
            aria-label={t('theme.label')}
            value={colorScheme}
            onChange={event => setColorScheme(event.currentTarget.value as MantineColorScheme)}
          >
            {SCHEMES.map(scheme => (
              <option key={scheme} value={scheme}>
                {t(`theme.${scheme}`)}
              </option>
            ))}
          </select>
        </span>
        {brand && (
          <>
            <span>
              <a className={classes.choice} href={brand.docs_url} target="_blank" rel="noreferrer">
                {t('auth:foot.docs')}
              </a>
            </span>
            <span>
              <a className={classes.choice} href={brand.terms_url} target="_blank" rel="noreferrer">
                {t('auth:foot.terms')}
              </a>
            </span>
          </>
        )}
        {mailbox && (
          <span>
            <a className={classes.choice} href="/mailbox">
              {t('auth:foot.mailbox')}
            </a>
          </span>
        )}
      </div>
    </nav>
  )
}
