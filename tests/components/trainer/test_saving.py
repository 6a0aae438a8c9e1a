from components.trainer import checkpoints, config, logs, loop, monitors, saving
from tests.components.trainer import toy


def _plan():
    return loop.LoopPlan(
        num_epochs=9,
        steps_per_epoch=4,
        steps_per_execution=2,
        early_stopping=monitors.EarlyStopping(config.EarlyStoppingConfig(patience_epochs=5)),
        plateau=monitors.Plateau(config.PlateauConfig(patience_epochs=4)),
    )


def test_resume_puts_early_stopping_plateau_and_log_back(tmp_path):
    step, rate, plan = toy.train_step(toy.model()), toy.rate(), _plan()
    step.run(toy.batches(), 3)
    rate.factor.assign(0.25)
    for val_loss in (1.0, 2.0, 3.0):
        plan.early_stopping.should_stop({"val_loss": val_loss})
        plan.plateau.factor({"val_loss": val_loss})
    log = logs.JsonLog(tmp_path / "log.jsonl")
    store = checkpoints.CheckpointStore(tmp_path / "checkpoints")
    saver = saving.Saver(
        store,
        step,
        rate,
        settings=config.CheckpointConfig(),
        best_by="val_loss",
        run_config={},
        execution={},
        log=log,
    )
    saver.attach(
        loop.Loop(step, rate, plan, evaluate=dict, state=loop.LoopState(steps_in_epoch=3)), plan
    )
    saver.save_now()

    fresh, fresh_rate, fresh_plan = toy.train_step(toy.model()), toy.rate(), _plan()
    checkpoint, _ = store.latest({})
    state = saving.resume(checkpoint, fresh, fresh_rate, fresh_plan, log)
    log.close()
    assert (state.steps_in_epoch, int(fresh.global_step), float(fresh_rate.factor)) == (3, 3, 0.25)
    assert fresh_plan.early_stopping.to_dict() == {"best": -1.0, "num_epochs_since": 2}
    assert fresh_plan.plateau.to_dict() == {"best": -1.0, "num_epochs_since": 2}
