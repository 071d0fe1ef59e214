import { getTerms } from '@berth/contract/account'
import { useTranslation } from 'react-i18next'
import { useCall } from '../../api/use-call.ts'
import { GuestCard } from '../../app/guest/GuestCard.tsx'
import { currentLanguage } from '../../app/i18n.ts'
import { ErrorState } from '../../ui/ErrorState.tsx'
import prose from '../../ui/Prose.module.css'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'

const NOTHING = {}

/** What one agrees to at sign-up, for everybody to read. */
export function Page() {
  const { t } = useTranslation('common')
  return (
    <GuestCard path="/terms" title={t('titles.terms')} wide>
      <Terms key={currentLanguage()} />
    </GuestCard>
  )
}

/** The text in the language that it was asked for in. */
function Terms() {
  const { t } = useTranslation('auth')
  const { data, error, retry } = useCall(getTerms, NOTHING)
  if (!data && error) return <ErrorState message={error.message} onRetry={retry} />
  if (!data) return <SkeletonRows rows={8} />
  // Where the brand keeps its own, nothing of ours leads here; an old bookmark may.
  if (data.html === null) return <a href={data.url}>{t('terms_link')}</a>
  return (
    <article
      className={prose.text}
      // biome-ignore lint/security/noDangerouslySetInnerHtml: the gateway makes it from the operator's Markdown, and refuses HTML, pictures and scripts in that.
      dangerouslySetInnerHTML={{ __html: data.html }}
    />
  )
}
