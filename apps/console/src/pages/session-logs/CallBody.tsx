import { getCallBody } from '@berth/contract/model-keeping'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { Answer } from '../../ui/Answer.tsx'
import { CodeSample } from '../../ui/CodeSample.tsx'
import { useFormat } from '../../ui/format.ts'
import classes from './CallBody.module.css'

interface CallBodyProps {
  /** The id of the part of the page, for what opens it. */
  id: string
  callId: string
}

/** What a call asked and was answered, where its customer has that kept; opened in place. */
export function CallBody({ id, callId }: CallBodyProps) {
  const { t } = useTranslation('session-logs')
  const format = useFormat()
  const query = useQuery(queryOf(getCallBody, { params: { id: callId } }))
  return (
    <section id={id} className={classes.body} aria-label={t('body.label')}>
      <Answer query={query} data={query.data} rows={3}>
        {({ question, answer, cut, deleted_at }) => (
          <>
            <h3>{t('body.question')}</h3>
            <CodeSample label={t('body.question')} code={readable(question)} textOf={() => question} />
            <h3>{t('body.answer')}</h3>
            {answer === '' ? (
              <p className={classes.note}>{t('body.no_answer')}</p>
            ) : (
              <CodeSample label={t('body.answer')} code={answer} />
            )}
            <p className={classes.note}>
              {cut && `${t('body.cut')} `}
              {t('body.until', { time: format.moment(deleted_at) })}
            </p>
          </>
        )}
      </Answer>
    </section>
  )
}

/** JSON with a line for each field; as it is where it was cut. */
function readable(question: string): string {
  try {
    return JSON.stringify(JSON.parse(question), null, 2)
  } catch {
    return question
  }
}
