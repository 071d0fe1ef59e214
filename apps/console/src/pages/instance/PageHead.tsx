import type { Instance } from '@berth/contract/instances'
import { IconChevronRight } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { CALLS_BEHIND, type RowAction } from '../../instances/instance-actions.ts'
import { useInstanceMenu } from '../../instances/instance-menu.ts'
import { useInstanceTexts } from '../../instances/instance-texts.ts'
import { SimulatedTag, useSimulatedWords } from '../../instances/SimulatedTag.tsx'
import { ActionMenu } from '../../lists/ActionMenu.tsx'
import { rowActionsId } from '../../lists/row-action.ts'
import { CopyText } from '../../ui/CopyText.tsx'
import { INSTANCE_STATUS_LOOKS, StatusBadge } from '../../ui/StatusBadge.tsx'
import classes from './PageHead.module.css'
import { buttonsFor, isOnPage } from './page-actions.ts'

interface PageHeadProps {
  instance: Instance
  /** Its dialog opens. */
  onAsk: (action: RowAction) => void
}

/** Which instance it is, how it does, and what can be done with it: the likeliest as buttons, the rest in a menu. */
export function PageHead({ instance, onAsk }: PageHeadProps) {
  const { t } = useTranslation(['instance', 'instances', 'common'])
  const texts = useInstanceTexts()
  const simulated = useSimulatedWords()
  const { instance_id, name, status } = instance
  return (
    <header className={classes.head}>
      <nav className={classes.crumbs} aria-label={t('crumbs')}>
        <Link to="/instance-list">{t('common:titles.instance-list')}</Link>
        <IconChevronRight size={13} aria-hidden="true" />
        <CopyText mono value={instance_id} label={t('id')} />
      </nav>
      <div className={classes.row}>
        <div className={classes.who}>
          <h1 className={classes.name}>{name}</h1>
          <StatusBadge
            look={INSTANCE_STATUS_LOOKS[status]}
            label={t(`common:status.${status}`)}
            reason={texts.underStatus(instance)}
          />
        </div>
        <Actions instance={instance} onAsk={onAsk} />
      </div>
      <p className={classes.second}>
        {[texts.machine(instance), sizeOf(), t(`kind.${instance.kind}`)].join(' · ')}
        {' · '}
        {[instance.image_name, instance.region_name].join(' · ')}
        {instance.simulated && <SimulatedTag words={simulated} />}
      </p>
    </header>
  )

  function sizeOf(): string {
    const { gpu, gpu_count, vram_gb, vcpu, memory_gb } = instance
    return gpu
      ? t('size.gpu', { vram: vram_gb * gpu_count, vcpu, gb: memory_gb })
      : t('size.cpu', { vcpu, gb: memory_gb })
  }
}

function Actions({ instance, onAsk }: PageHeadProps) {
  const { t } = useTranslation('common')
  const menuOf = useInstanceMenu()
  const items = menuOf(instance)
  const { primary, beside } = buttonsFor(instance)
  const itemOf = (action: RowAction) => items.find(item => item.action === action)
  const button = (action: RowAction, variant: 'default' | 'filled') => {
    const item = itemOf(action)
    const Icon = item?.icon
    return (
      <VerifiedButton
        key={action}
        call={CALLS_BEHIND[action]}
        variant={variant}
        reason={item?.reason}
        leftSection={Icon && <Icon size={16} stroke={1.6} />}
        onClick={() => onAsk(action)}
      >
        {item?.label}
      </VerifiedButton>
    )
  }
  return (
    <div className={classes.actions} id={rowActionsId(instance.instance_id)}>
      {beside.map(action => button(action, 'default'))}
      <span className={classes.menu}>
        <ActionMenu
          label={t('row.menu', { name: instance.name })}
          items={() => menuOf(instance).filter(({ action }) => !isOnPage(action))}
          onAsk={onAsk}
        />
      </span>
      {button(primary, 'filled')}
    </div>
  )
}
