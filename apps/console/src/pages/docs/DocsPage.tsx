import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { currentLanguage } from '../../app/i18n.ts'
import { loadPage } from '../../app/load-page.ts'
import { Card } from '../../ui/Card.tsx'
import { ErrorState } from '../../ui/ErrorState.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import prose from '../../ui/Prose.module.css'
import parts from '../../ui/SideParts.module.css'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import classes from './DocsPage.module.css'
import { DOC_TOPICS } from './topics.ts'

/** Where the list of all calls is, for programs. */
const API_REFERENCE = '/gateway/docs'

/** The docs by language, made from Markdown when the console is built; each is fetched when it is read. */
const TEXTS = import.meta.glob<{ html: string }>('../../../../../docs/customers/*.md')

/** What customers want to know before and while they use it, for everybody to read. */
export function Page() {
  const { t } = useTranslation(['docs', 'common'])
  const language = currentLanguage()
  const docs = useQuery({
    queryKey: ['docs', language],
    queryFn: () => loadPage(() => textIn(language)),
    staleTime: Number.POSITIVE_INFINITY,
    meta: { silent: true },
  })
  return (
    <>
      <PageHeader
        title={t('common:titles.docs')}
        second={
          <>
            {t('lead')}{' '}
            <a href={API_REFERENCE} className={classes.other}>
              {t('api')}
            </a>
            {' · '}
            <a href="/terms" className={classes.other}>
              {t('common:titles.terms')}
            </a>
          </>
        }
      />
      <div className={`${parts.layout} ${classes.layout}`}>
        <nav aria-label={t('topics.label')} className={`${parts.menu} ${classes.menu}`}>
          <ul>
            {DOC_TOPICS.map(topic => (
              <li key={topic}>
                <a href={`#${topic}`} className={parts.entry}>
                  {t(`topics.${topic}`)}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <Card>
          {!docs.data && docs.error && (
            <ErrorState message={t('common:page_failure.load')} onRetry={() => void docs.refetch()} />
          )}
          {!docs.data && !docs.error && <SkeletonRows rows={8} />}
          {docs.data && (
            <article
              className={prose.text}
              // biome-ignore lint/security/noDangerouslySetInnerHtml: it is made from our own Markdown at build time, which holds no HTML.
              dangerouslySetInnerHTML={{ __html: docs.data.html }}
            />
          )}
        </Card>
      </div>
    </>
  )
}

async function textIn(language: string): Promise<{ html: string }> {
  const load = TEXTS[`../../../../../docs/customers/${language}.md`]
  if (!load) throw new Error(`There are no docs in ${language}.`)
  return await load()
}
