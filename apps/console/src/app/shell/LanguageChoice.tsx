import { LANGUAGES } from '@berth/contract/limits'
import { useTranslation } from 'react-i18next'
import { currentLanguage, LANGUAGE_NAMES, setLanguage } from '../i18n.ts'
import classes from './LanguageChoice.module.css'

/** The language, for whoever has no avatar menu to choose it in (R2.13). The browser's own list weighs nothing. */
export function LanguageChoice() {
  const { t } = useTranslation('common')
  return (
    <select
      className={classes.choice}
      aria-label={t('language.label')}
      value={currentLanguage()}
      onChange={({ target }) => {
        const language = LANGUAGES.find(name => name === target.value)
        if (language) void setLanguage(language)
      }}
    >
      {LANGUAGES.map(language => (
        <option key={language} value={language} lang={language}>
          {LANGUAGE_NAMES[language]}
        </option>
      ))}
    </select>
  )
}
