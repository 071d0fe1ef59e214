import { listSshKeys } from '@berth/contract/ssh-keys'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { searchOf } from '../../app/search.ts'
import fold from './Fold.module.css'
import { Fold } from './Fold.tsx'

/** Who gets in by SSH: whoever holds a key of the account. */
export function AccessFold() {
  const { t, i18n } = useTranslation('deploy')
  const { data: keys } = useQuery(queryOf(listSshKeys, {}))
  const names = new Intl.ListFormat(i18n.language).format((keys ?? []).map(({ name }) => name))
  const holds = keys?.length ? t('access.keys', { count: keys.length, names }) : t('access.none')
  return (
    <Fold title={t('access.title')} holds={keys ? holds : ''}>
      <p className={fold.wide}>
        {t('access.note')}{' '}
        <Link to="/settings" search={searchOf({ section: 'ssh-keys' })}>
          {t('access.settings')}
        </Link>
      </p>
    </Fold>
  )
}
