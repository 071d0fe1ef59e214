import { listDeployTemplates } from '@berth/contract/deploy-templates'
import { Button, Menu } from '@mantine/core'
import { IconHistory } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { instancesQuery } from '../../../api/instances-query.ts'
import { queryOf } from '../../../api/queries.ts'
import { lazyPart } from '../../../app/lazy-part.ts'
import type { SetupSource } from './use-setup.ts'

const TemplatesDialog = lazyPart(() => import('./TemplatesDialog.tsx').then(module => module.TemplatesDialog))

/** Of the newest instances so many are offered; each one's own menu offers the same. */
const INSTANCES_SHOWN_MAX = 5

/** Fills the form from a template, or from an instance that is there (B18). */
export function EarlierSetups({ onChoose }: { onChoose: (source: SetupSource) => void }) {
  const { t } = useTranslation('deploy')
  const [isManaging, setIsManaging] = useState(false)
  const { data: templates = [] } = useQuery(queryOf(listDeployTemplates, {}))
  const { data: instances = [] } = useQuery(instancesQuery)
  if (templates.length === 0 && instances.length === 0) return null
  return (
    <>
      <Menu position="bottom-end" width={280}>
        <Menu.Target>
          <Button variant="default" leftSection={<IconHistory size={16} stroke={1.6} aria-hidden="true" />}>
            {t('earlier.open')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {templates.length > 0 && <Menu.Label>{t('earlier.templates')}</Menu.Label>}
          {templates.map(({ id, name }) => (
            <Menu.Item key={id} onClick={() => onChoose({ template: id, like: '' })}>
              {name}
            </Menu.Item>
          ))}
          {instances.length > 0 && <Menu.Label>{t('earlier.instances')}</Menu.Label>}
          {instances.slice(0, INSTANCES_SHOWN_MAX).map(({ instance_id, name }) => (
            <Menu.Item key={instance_id} onClick={() => onChoose({ template: '', like: instance_id })}>
              {t('earlier.like', { name })}
            </Menu.Item>
          ))}
          {templates.length > 0 && (
            <>
              <Menu.Divider />
              <Menu.Item onClick={() => setIsManaging(true)}>{t('earlier.manage')}</Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      <Suspense>
        {isManaging && <TemplatesDialog templates={templates} onClose={() => setIsManaging(false)} />}
      </Suspense>
    </>
  )
}
